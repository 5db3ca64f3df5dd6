"""Places for the labels of edges in a picture."""

import numpy as np
import pytest

from dcd.graph.drawing.edge_labels import label_places, points_of_curve

SIZE = np.array([400.0, 300.0])
WIDTH, ABOVE, BELOW = 40.0, 10.0, 4.0  # of "> 99 %" at 12 pixels


def around(place):
    x, y = place
    return x, y - ABOVE, x + WIDTH, y + BELOW


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def straight(x, top=50.0, bottom=250.0):
    return points_of_curve(np.array([[x, top], [x, bottom]]))


def test_a_curve_ends_where_its_path_does_and_is_vertical_there():
    path = np.array([[0.0, 0.0], [100.0, 80.0], [40.0, 200.0]])
    points = points_of_curve(path)
    assert points[[0, 16, -1]].tolist() == path[[0, 1, 2]].tolist() or np.allclose(points[[0, 16, -1]], path)
    assert abs(points[1, 0] - points[0, 0]) < 0.5 * abs(points[1, 1] - points[0, 1])
    assert (np.diff(points[:, 1]) >= 0).all()


def test_a_label_alone_is_beside_the_middle_of_its_edge():
    (place,) = label_places(["> 99 %"], [straight(200.0)], [], SIZE)
    assert place == pytest.approx((206.0, 153.0), abs=1)


def test_labels_of_edges_side_by_side_do_not_collide():
    curves = [straight(x) for x in (100.0, 116.0, 132.0, 148.0)]
    places = label_places(["> 99 %"] * 4, curves, [], SIZE)
    boxes = [around(place) for place in places]
    assert not any(overlap(one, other) for at, one in enumerate(boxes) for other in boxes[:at])


def test_a_label_keeps_clear_of_boxes_other_edges_and_the_rim():
    node = (205.0, 130.0, 300.0, 170.0)
    (place,) = label_places(["> 99 %"], [straight(200.0)], [node], SIZE)
    assert not overlap(around(place), node)
    places = label_places(["> 99 %", ""], [straight(200.0), straight(220.0)], [], SIZE)
    assert around(places[0])[2] < 200.0  # on the side without the other edge
    (place,) = label_places(["> 99 %"], [straight(390.0)], [], SIZE)
    assert around(place)[2] < 390.0
